import { useState } from "react";
import { useReview } from "../../../api/runs";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextArea } from "../../../ui/Field";
import { CheckIcon, EditIcon } from "../../../ui/icons";

/** Accepts the result of a run, or sends it back with a note. */
export function ReviewBox({ runId }: { runId: string }) {
  const words = useWords("run");
  const [note, setNote] = useState("");
  const review = useReview();
  return (
    <section
      aria-label={words.review}
      className="flex flex-col gap-2 rounded-md border border-wait bg-wait-soft p-3"
    >
      <TextArea
        label={words.reviewNote}
        rows={2}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <ErrorNote error={review.error} />
      <div className="flex flex-wrap gap-2">
        <Button
          icon={<CheckIcon />}
          busy={review.isPending}
          onClick={() => review.mutate({ id: runId, decision: "approve", note })}
        >
          {words.reviewAccept}
        </Button>
        <Button
          icon={<EditIcon />}
          busy={review.isPending}
          disabled={!note.trim()}
          onClick={() =>
            review.mutate({ id: runId, decision: "revise", note }, { onSuccess: () => setNote("") })
          }
        >
          {words.reviewRevise}
        </Button>
      </div>
    </section>
  );
}
