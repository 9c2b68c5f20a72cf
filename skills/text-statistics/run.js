"use strict";
// Count words, characters and sentences of a text: a JSON object in, a JSON object out.

const fs = require("node:fs");

const WORDS_PER_MINUTE = 230;
const HAN_PER_MINUTE = 400;
const HAN = /\p{Script=Han}/gu;
const WORD = /(?!\p{Script=Han})[\p{L}\p{N}](?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’_-])*/gu;

function count(text, pattern) {
  return (text.match(pattern) ?? []).length;
}

function sentencesOf(text) {
  return text
    .split(/(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

function topWords(text, number) {
  const counts = new Map();
  for (const word of text.toLowerCase().match(WORD) ?? []) {
    if (word.length > 2) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, number)
    .map(([word, times]) => ({ word, times }));
}

function statistics(text, top) {
  const words = count(text, WORD);
  const han = count(text, HAN);
  const sentences = sentencesOf(text);
  return {
    characters: [...text].length,
    words,
    han_characters: han,
    sentences: sentences.length,
    paragraphs: text.split(/\n\s*\n/u).filter((paragraph) => paragraph.trim()).length,
    headings: count(text, /^#{1,6} /gmu),
    longest_sentence: sentences.reduce(
      (longest, sentence) => Math.max(longest, count(sentence, WORD) + count(sentence, HAN)),
      0,
    ),
    reading_minutes: Math.round((words / WORDS_PER_MINUTE + han / HAN_PER_MINUTE) * 10) / 10,
    top_words: topWords(text, top),
  };
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}

function main() {
  let request;
  try {
    request = JSON.parse(fs.readFileSync(0, "utf8") || "{}");
  } catch (error) {
    return fail(`the input is not JSON: ${error.message}`);
  }
  if (typeof request?.text !== "string") return fail("the input needs a `text`");
  const top = request.top ?? 10;
  if (!Number.isInteger(top) || top < 0) return fail("`top` must be a whole number, 0 or more");
  process.stdout.write(`${JSON.stringify(statistics(request.text, top), null, 2)}\n`);
}

main();
