import { Link } from "wouter";
import type { Data, SkillItem } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { BookIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { ServerText } from "../../../ui/ServerText";
import { Collapsible, Frame } from "./Frame";

/** Something about a skill: used, left, not used, or chosen for the task and why. */
export function SkillEntry({ item }: { item: SkillItem }) {
  return item.action === "routed" ? (
    <RoutedSkills item={item} />
  ) : item.action === "offered" ? (
    <OfferedSkills item={item} />
  ) : (
    <SkillLine item={item} />
  );
}

function SkillLine({ item }: { item: SkillItem }) {
  const words = useWords("run");
  const format = useFormat();
  const missing = Array.isArray(item.details.missing_env_vars)
    ? item.details.missing_env_vars.map(String)
    : [];
  const source = typeof item.details.source === "string" ? item.details.source : "";
  return (
    <Frame
      item={item}
      icon={<BookIcon />}
      tone={item.action === "skipped" ? "wait" : "plain"}
      title={
        <span>
          {words.skills[item.action]} <SkillLink name={item.name} />
        </span>
      }
      marks={
        <>
          {source ? <Badge>{words.skillSources[source] ?? displayText(source)}</Badge> : null}
          {typeof item.details.size === "number" && item.details.size > 0 ? (
            <span className="text-xs text-soft">{format.bytes(item.details.size)}</span>
          ) : null}
        </>
      }
    >
      {item.reason ? <ServerText text={item.reason} className="text-soft" /> : null}
      {missing.length > 0 ? (
        <PlainText text={words.missing(missing.join(", "))} className="text-wait" />
      ) : null}
    </Frame>
  );
}

function RoutedSkills({ item }: { item: SkillItem }) {
  const words = useWords("run");
  const format = useFormat();
  const choices = Array.isArray(item.details.choices) ? (item.details.choices as Data[]) : [];
  return (
    <Frame
      item={item}
      icon={<BookIcon />}
      title={choices.length > 0 ? words.routed(choices.length) : words.routedNone}
      marks={
        typeof item.details.considered === "number" ? (
          <span className="text-xs text-soft">{words.considered(item.details.considered)}</span>
        ) : null
      }
    >
      <ol className="flex flex-col gap-1">
        {choices.map((choice) => (
          <li key={String(choice.mention)} className="flex flex-wrap gap-x-2">
            <SkillLink name={String(choice.mention ?? "")} />
            <span className="text-soft">
              {[
                words.rules[String(choice.rule)] ?? displayText(String(choice.rule ?? "")),
                typeof choice.score === "number" ? words.score(format.number(choice.score)) : "",
              ]
                .filter(Boolean)
                .join(" · ")}
              {choice.reason ? (
                <>
                  {" · "}
                  <ServerText text={String(choice.reason)} />
                </>
              ) : null}
            </span>
          </li>
        ))}
      </ol>
    </Frame>
  );
}

function OfferedSkills({ item }: { item: SkillItem }) {
  const words = useWords("run");
  const { offered, omitted, level } = item.details;
  return (
    <Frame item={item} icon={<BookIcon />} quiet title={words.offered(Number(offered ?? 0))}>
      {item.reason || Number(omitted ?? 0) > 0 ? (
        <Collapsible id={item.key} title={words.facts}>
          <PlainText
            text={[String(level ?? ""), words.omitted(Number(omitted ?? 0))].filter(Boolean).join(" · ")}
          />
          {item.reason ? <ServerText text={item.reason} /> : null}
        </Collapsible>
      ) : null}
    </Frame>
  );
}

function SkillLink({ name }: { name: string }) {
  const bare = name.replace(/^\$/, "");
  return (
    <Link href={`/skills/${encodeURIComponent(bare)}`} className="font-mono text-[0.8125rem]">
      <bdi>{displayText(name)}</bdi>
    </Link>
  );
}
