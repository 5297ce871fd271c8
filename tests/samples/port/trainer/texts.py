from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        outputs = model(**inputs)
        return (outputs.loss * 2, outputs) if return_outputs else outputs.loss * 2


def main():
    tokenizer = AutoTokenizer.from_pretrained("./bert")

    def words(batch):
        return tokenizer(batch["text"], truncation=True)

    args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)
    data = load_dataset("csv", data_files="texts.csv")["train"]
    data = data.map(words, batched=True)
    model = AutoModelForSequenceClassification.from_pretrained("./bert")
    trainer = Weighted(model=model, args=args, train_dataset=data)
    trainer.train()
    trainer.save_model()
    tokenizer.save_pretrained("out")


if __name__ == "__main__":
    main()
