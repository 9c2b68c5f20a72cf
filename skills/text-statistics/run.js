"use strict";
// Counts what is in a text: reads a JSON object, writes a JSON object.

const fs = require("node:fs");

const WORDS_A_MINUTE = 230;
const HAN_A_MINUTE = 400;
const HAN = /\p{Script=Han}/gu;
const WORD = /(?!\p{Script=Han})[\p{L}\p{N}](?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’_-])*/gu;

function count(text, pattern) {
  return (text.match(pattern) ?? []).length;
}

function sentencesOf(text) {
  return text
    .split(/(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n/u)
    .map((one) => one.trim())
    .filter((one) => /[\p{L}\p{N}]/u.test(one));
}

function topWords(text, number) {
  const seen = new Map();
  for (const word of text.toLowerCase().match(WORD) ?? []) {
    if (word.length > 2) seen.set(word, (seen.get(word) ?? 0) + 1);
  }
  return [...seen]
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
    paragraphs: text.split(/\n\s*\n/u).filter((one) => one.trim()).length,
    headings: count(text, /^#{1,6} /gmu),
    longest_sentence: sentences.reduce((most, one) => Math.max(most, count(one, WORD) + count(one, HAN)), 0),
    reading_minutes: Math.round((words / WORDS_A_MINUTE + han / HAN_A_MINUTE) * 10) / 10,
    top_words: topWords(text, top),
  };
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}

function main() {
  let wanted;
  try {
    wanted = JSON.parse(fs.readFileSync(0, "utf8") || "{}");
  } catch (error) {
    return fail(`the input is not JSON: ${error.message}`);
  }
  if (typeof wanted?.text !== "string") return fail("the input needs a `text`");
  const top = wanted.top ?? 10;
  if (!Number.isInteger(top) || top < 0) return fail("`top` must be a whole number, 0 or more");
  process.stdout.write(`${JSON.stringify(statistics(wanted.text, top), null, 2)}\n`);
}

main();
