import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { type SkillDocument, useSkill } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { ErrorNote } from "../../ui/ErrorNote";
import { PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { type Tab, Tabs } from "../../ui/Tabs";
import { Checks } from "./Checks";
import { Editor } from "./Editor";
import { Files } from "./Files";
import { RunSkill } from "./run/RunSkill";
import { SkillText } from "./SkillText";
import { StateBadge } from "./StateBadge";
import { TrustNote } from "./TrustButton";

type View = "text" | "files" | "checks" | "edit" | "run";

/** One skill: its text, its files, what was found in it, its editor, and its program. */
export function SkillPage({ name, view }: { name: string; view?: string }) {
  const words = useWords("skills");
  const { data, error, isPending, refetch } = useSkill(name);
  const title = data?.name ?? name;
  return (
    <Page
      title={`${displayText(title)} · ${words.title}`}
      heading={<Heading name={title} skill={data} />}
      actions={
        data && data.state !== "untrusted" ? (
          <Link
            href={`/new?task=${encodeURIComponent(`${data.mention} `)}`}
            className="inline-flex min-h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 text-sm font-medium text-text no-underline hover:bg-sunken"
          >
            <PlusIcon />
            {words.useInRun}
          </Link>
        ) : null
      }
    >
      <nav aria-label={words.title} className="-mt-2 text-xs">
        <Link href="/skills">{words.all}</Link>
      </nav>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending ? <Skeleton lines={8} /> : null}
      {data?.state === "untrusted" ? <TrustNote skill={data} /> : null}
      {data ? <Views name={name} skill={data} view={view} /> : null}
    </Page>
  );
}

function Heading({ name, skill }: { name: string; skill: SkillDocument | undefined }) {
  return (
    <span className="flex flex-wrap items-center gap-2 [overflow-wrap:anywhere]">
      {displayText(name)}
      <StateBadge state={skill?.state} />
    </span>
  );
}

function Views({ name, skill, view }: { name: string; skill: SkillDocument; view: string | undefined }) {
  const words = useWords("skills");
  const [, navigate] = useLocation();
  const findingCount = (skill.security?.findings.length ?? 0) + skill.diagnostics.length;
  const editable = skill.editable && skill.path.endsWith("SKILL.md");
  const tabs: Tab<View>[] = [
    { value: "text", label: words.views.text, content: <SkillText skill={skill} /> },
    {
      value: "files",
      label: <Counted label={words.views.files} count={skill.files.length} />,
      content: <Files name={name} skill={skill} />,
    },
    {
      value: "checks",
      label: <Counted label={words.views.checks} count={findingCount} />,
      content: <Checks skill={skill} />,
    },
    ...(editable
      ? [{ value: "edit" as const, label: words.views.edit, content: <Editor name={name} skill={skill} /> }]
      : []),
    ...(skill.run
      ? [{ value: "run" as const, label: words.views.run, content: <RunSkill skill={skill} /> }]
      : []),
  ];
  const activeTab = tabs.find((tab) => tab.value === view)?.value ?? "text";
  const address = `/skills/${encodeURIComponent(name)}`;
  return (
    <Tabs
      label={words.viewsOf}
      value={activeTab}
      tabs={tabs}
      onChange={(next) => navigate(next === "text" ? address : `${address}/${next}`)}
    />
  );
}

function Counted({ label, count }: { label: string; count: number }): ReactNode {
  return count === 0 ? (
    label
  ) : (
    <>
      {label} <span className="text-xs text-soft">{count}</span>
    </>
  );
}
