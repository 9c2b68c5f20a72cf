import { memo } from "react";
import type { TranscriptItem } from "../../../events";
import { classes } from "../../../lib/classes";
import { ApprovalEntry } from "./ApprovalEntry";
import { CallEntry } from "./CallEntry";
import { ArtifactsEntry, ChildEntry, CompactionEntry, EndEntry, ErrorEntry, PlanEntry } from "./entries";
import { AssistantEntry, ReasoningEntry, UserEntry } from "./messages";
import { NoticeEntry } from "./NoticeEntry";
import { QuestionEntry } from "./QuestionEntry";
import { SkillEntry } from "./SkillEntry";

/** One entry of a transcript; drawn anew only when its item changed. */
export const Entry = memo(function Entry({
  item,
  selected,
  isMatch,
}: {
  item: TranscriptItem;
  selected: boolean;
  /** What was searched for occurs in it. */
  isMatch: boolean;
}) {
  return (
    <div
      aria-current={selected || undefined}
      className={classes(
        "border-l-2 border-transparent",
        isMatch && "border-wait!",
        selected && "border-accent! bg-accent-soft",
      )}
    >
      <EntryContent item={item} />
    </div>
  );
});

function EntryContent({ item }: { item: TranscriptItem }) {
  switch (item.kind) {
    case "user":
      return <UserEntry item={item} />;
    case "assistant":
      return <AssistantEntry item={item} />;
    case "reasoning":
      return <ReasoningEntry item={item} />;
    case "call":
      return <CallEntry item={item} />;
    case "question":
      return <QuestionEntry item={item} />;
    case "approval":
      return <ApprovalEntry item={item} />;
    case "error":
      return <ErrorEntry item={item} />;
    case "compaction":
      return <CompactionEntry item={item} />;
    case "skill":
      return <SkillEntry item={item} />;
    case "child":
      return <ChildEntry item={item} />;
    case "plan":
      return <PlanEntry item={item} />;
    case "artifacts":
      return <ArtifactsEntry item={item} />;
    case "notice":
      return <NoticeEntry item={item} />;
    case "end":
      return <EndEntry item={item} />;
  }
}
