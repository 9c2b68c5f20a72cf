import { useLocation } from "wouter";
import { useContinueSession } from "../../../api/sessions";
import { useWords } from "../../../i18n";
import { MessageForm } from "./MessageForm";

/** Goes on after a run has ended: a new run of the same session that knows what was said. */
export function ContinueBox({ sessionId }: { sessionId: string }) {
  const words = useWords("run");
  const [, navigate] = useLocation();
  const go = useContinueSession();
  return (
    <section aria-label={words.continueRun}>
      <MessageForm
        label={words.continueRun}
        action={words.continueDo}
        busy={go.isPending}
        error={go.error}
        onSend={(message, done) =>
          go.mutate(
            { id: sessionId, message },
            {
              onSuccess: (response) => {
                done();
                navigate(`/runs/${encodeURIComponent(response.run_id)}`);
              },
            },
          )
        }
      />
    </section>
  );
}
