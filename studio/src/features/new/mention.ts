import type { Skill } from "../../api/skills";

const MAX_SUGGESTIONS = 8;
const MENTION_PREFIX = /(?:^|[\s([{"'，。：；、（])(\$[\p{L}\p{N}_:.[\]-]*)$/u;
const FULL_MENTION = /^\$\[[a-z0-9:-]+\]\.[a-z0-9][a-z0-9_-]*[a-z0-9]$/;

/** A mention that is being typed: where it begins, and what was typed of it. */
export interface MentionQuery {
  from: number;
  to: number;
  typed: string;
}

/** The mention before the caret, if one is being typed there. */
export function findMentionAt(text: string, caret: number): MentionQuery | null {
  const name = MENTION_PREFIX.exec(text.slice(Math.max(0, caret - 200), caret))?.[1];
  return name === undefined
    ? null
    : { from: caret - name.length, to: caret, typed: name.slice(1).replace(/^\[/, "") };
}

/**
 * The skills that fit what was typed of a mention: by the beginning of the name, inside it, then by its other words;
 * among equals, built-in ones come last.
 */
export function filterSkills(skills: readonly Skill[], typed: string): Skill[] {
  const query = typed.toLowerCase().replace(/\]\.?/, ".");
  return skills
    .filter((skill) => skill.state === "offered" || skill.state === "built-in")
    .map((skill) => ({ skill, rank: rankOf(skill, query) }))
    .filter(({ rank }) => rank < 4)
    .sort((left, right) => left.rank - right.rank || compareSkills(left.skill, right.skill))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ skill }) => skill);
}

function compareSkills(left: Skill, right: Skill): number {
  const builtIn = Number(left.state === "built-in") - Number(right.state === "built-in");
  return builtIn || left.name.localeCompare(right.name);
}

function rankOf(skill: Skill, query: string): number {
  const name = skill.name.toLowerCase();
  if (name.startsWith(query)) {
    return 0;
  }
  if (`${skill.namespace}.${name}`.startsWith(query)) {
    return 1;
  }
  return name.includes(query) ? 2 : skill.description.toLowerCase().includes(query) ? 3 : 4;
}

/** How a task mentions a skill: exactly, unless its name cannot be said so. */
export function mentionOf(skill: Pick<Skill, "mention" | "name">): string {
  return FULL_MENTION.test(skill.mention) ? skill.mention : `$${skill.name}`;
}

/** The text with a mention in the place of what was typed, and where the caret is then. */
export function insertMention(
  text: string,
  typing: MentionQuery,
  mention: string,
): { text: string; caret: number } {
  const rest = text.slice(typing.to);
  const gap = /^[\s.,;:!?)\]}，。；：！？）]/.test(rest) ? "" : " ";
  return {
    text: text.slice(0, typing.from) + mention + gap + rest,
    caret: typing.from + mention.length + (gap || rest.startsWith(" ") ? 1 : 0),
  };
}
