// Check the Japanese pages and messages with textlint: `npm run lint`. `.textlintrc.yml` has the rules and the reasons.
//   node po/textlint.mjs [PAGE …]     these pages only
//   node po/textlint.mjs --count      the remarks of each rule instead of a line for each

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter, loadTextlintrc } from "textlint";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const MESSAGES = join(ROOT, "hackathon/locale/ja/LC_MESSAGES/hackathon.po");
const PART = 100; // messages at once: textlint becomes slow in long texts
// A message may be a heading, a cell or a part of a line, so it may end without a full stop. A terminal has no style for
// code, so messages show code without quotes (`--vary NAME=1,2`), with brackets and commas of its own.
const FOR_PAGES_ONLY = [
  "ja-technical-writing/ja-no-mixed-period",
  "ja-technical-writing/max-comma",
  "ja-technical-writing/no-unmatched-pair",
  "jtf-style/1.2.1.句点(。)と読点(、)",
  "jtf-style/2.1.10.算用数字の位取りの表記",
  "jtf-style/3.1.2.全角文字どうし",
  "jtf-style/4.1.3.ピリオド(.)、カンマ(,)",
  "jtf-style/4.3.1.丸かっこ（）",
  "jtf-style/4.3.2.大かっこ［］",
  "jtf-style/4.3.5.二重引用符",
  "jtf-style/4.3.7.山かっこ<>",
];

function pages() {
  const below = readdirSync(join(ROOT, "docs"), { recursive: true }).map((name) => join(ROOT, "docs", name));
  return [join(ROOT, "README.ja.md"), ...below.filter((path) => path.endsWith(".ja.md")).sort()];
}

/** Return {msgid, line, forms} of each translated entry of a .po file; `line` is that of the msgid. */
function entries(path) {
  const found = [];
  let entry = {};
  let field = null;
  readFileSync(path, "utf-8").split("\n").forEach((text, index) => {
    const [, name, quoted] = /^(?:(msgctxt|msgid|msgid_plural|msgstr(?:\[\d\])?) )?(".*")$/.exec(text) ?? [];
    if (quoted === undefined) {
      field = null;
      return;
    }
    if (name === "msgid") found.push((entry = { line: index + 1 }));
    if (name === "msgctxt") entry = {};
    field = name ?? field;
    entry[field] = (entry[field] ?? "") + JSON.parse(quoted);
  });
  return found
    .filter((each) => each.msgid)
    .map((each) => ({ ...each, forms: Object.keys(each).filter((key) => key.startsWith("msgstr")).map((key) => each[key]) }));
}

/** Return the messages as one text with a paragraph for each line, and the entry that each of its lines is from. */
function asText(messages) {
  const lines = [];
  const origin = [];
  for (const message of messages)
    for (const form of message.forms) {
      // Examples are indented; a value becomes code; nothing is a list or a heading: the text of a message is plain.
      const plain = form.replaceAll("{{", "").replaceAll("}}", "").replace(/`[^`]*`|\{[^{}]*\}/g, "`value`");
      const own = plain
        .split("\n")
        .map((line) => (/^\s+\S|^(?:hackathon|ssh) /.test(line) ? "" : line.replace(/^[#>*+-]+|^\d+[.)]\s/, "")));
      for (const line of own) {
        lines.push(line, "");
        origin.push(message, message);
      }
    }
  return { text: lines.join("\n"), origin };
}

const descriptor = await loadTextlintrc({ configFilePath: join(ROOT, ".textlintrc.yml") });
const linter = createLinter({ descriptor });
const named = process.argv.slice(2).filter((word) => word !== "--count");
const remarks = [];
for (const { filePath, messages } of await linter.lintFiles(named.length ? named : pages()))
  for (const { line, column, ruleId, message } of messages)
    remarks.push({ ruleId, message, place: `${relative(ROOT, filePath)}:${line}:${column}`, english: null });
if (!named.length) {
  const all = entries(MESSAGES);
  for (let start = 0; start < all.length; start += PART) {
    const { text, origin } = asText(all.slice(start, start + PART));
    const { messages } = await linter.lintText(text, join(ROOT, "messages.md"));
    for (const { line, ruleId, message } of messages)
      if (!FOR_PAGES_ONLY.includes(ruleId)) {
        const entry = origin[line - 1];
        remarks.push({ ruleId, message, place: `${relative(ROOT, MESSAGES)}:${entry.line}`, english: entry.msgid });
      }
  }
}
if (process.argv.includes("--count")) {
  const counts = new Map();
  for (const { ruleId } of remarks) counts.set(ruleId, (counts.get(ruleId) ?? 0) + 1);
  for (const [rule, count] of [...counts].sort((a, b) => b[1] - a[1])) console.log(count, rule);
} else
  for (const { place, ruleId, message, english } of remarks) {
    console.log(`${place}: ${message.split("\n").filter(Boolean)[0]} [${ruleId}]`);
    if (english !== null) console.log(`    ${english.split("\n")[0].slice(0, 100)}`);
  }
console.log(`textlint: ${remarks.length} remarks`);
process.exitCode = remarks.length ? 1 : 0;
