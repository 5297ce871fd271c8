import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

torch.cuda.set_device(0)
data = load_dataset("csv", data_files="texts.csv")["train"].train_test_split(test_size=0.1)
model = AutoModelForSequenceClassification.from_pretrained("./bert").to("cuda")
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=data["train"], eval_dataset=data["test"])
trainer.train()
print(trainer.evaluate())
