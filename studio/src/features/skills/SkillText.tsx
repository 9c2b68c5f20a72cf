import type { ReactNode } from "react";
import type { SkillDocument } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { CodeBlock } from "../../ui/CodeBlock";
import { CopyButton } from "../../ui/CopyButton";
import { JsonView } from "../../ui/JsonView";
import { Markdown } from "../../ui/Markdown";
import { PlainText } from "../../ui/PlainText";
import { ServerText } from "../../ui/ServerText";

/** What a skill says, rendered, beside what it declares and where it comes from. */
export function SkillText({ skill }: { skill: SkillDocument }) {
  const words = useWords("skills");
  return (
    <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="flex min-w-0 flex-col gap-3">
        <PlainText text={skill.description} className="text-base" />
        {skill.body.trim() ? (
          <article className="rounded-lg border border-line bg-surface px-4 py-2">
            <Markdown text={skill.body} />
          </article>
        ) : skill.text ? (
          <CodeBlock text={skill.text} label={words.wholeFile} />
        ) : (
          <p className="text-soft">{words.noBody}</p>
        )}
      </div>
      <About skill={skill} />
    </div>
  );
}

function About({ skill }: { skill: SkillDocument }) {
  const words = useWords("skills");
  const standardFields = new Set(["license", "compatibility", "allowed-tools", "name", "description"]);
  const more = Object.fromEntries(
    Object.entries(skill.front_matter).filter(([key]) => !standardFields.has(key)),
  );
  return (
    <section
      aria-label={words.about}
      className="flex h-fit min-w-0 flex-col gap-3 rounded-lg border border-line bg-surface p-3"
    >
      <dl className="flex flex-col gap-2.5">
        <Fact name={words.mention}>
          <span className="flex items-center gap-1">
            <code className="min-w-0 font-mono text-xs">{displayText(skill.mention)}</code>
            <CopyButton text={skill.mention} name={words.copyMention} />
          </span>
        </Fact>
        <Fact name={words.state}>{words.states[skill.state] ?? skill.state}</Fact>
        <Fact name={words.from}>{displayText(skill.source)}</Fact>
        <Fact name={words.path}>
          <code className="font-mono text-xs">{displayText(skill.path)}</code>
        </Fact>
        {skill.license ? <Fact name={words.license}>{displayText(skill.license)}</Fact> : null}
        {skill.compatibility ? (
          <Fact name={words.compatibility}>{displayText(skill.compatibility)}</Fact>
        ) : null}
        {skill.allowed_tools.length > 0 ? (
          <Fact name={words.allowedTools}>{displayText(skill.allowed_tools.join(", "))}</Fact>
        ) : null}
        {skill.required_env_vars.length > 0 ? (
          <Fact name={words.variables}>{displayText(skill.required_env_vars.join(", "))}</Fact>
        ) : null}
        {skill.editable ? null : (
          <Fact name={words.notEditable}>
            <ServerText text={skill.editable_reason} />
          </Fact>
        )}
      </dl>
      {Object.keys(more).length > 0 ? (
        <div>
          <h2 className="text-xs font-medium text-soft">{words.frontMatter}</h2>
          <JsonView value={more} />
        </div>
      ) : null}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs font-medium text-soft">{name}</dt>
      <dd className="[overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}
