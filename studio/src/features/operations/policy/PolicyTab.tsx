import { useCheckPolicy } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { ErrorNote } from "../../../ui/ErrorNote";
import { announce } from "../../../ui/LiveRegion";
import { Section } from "../Section";
import { CallForm } from "./CallForm";
import { Decision } from "./Decision";

/** The policy playground: the decision about a hypothetical call, and the reason. */
export default function PolicyTab() {
  const words = useWords("operations").policy;
  const check = useCheckPolicy();
  return (
    <Section title={words.title} hint={words.hint}>
      <div className="grid min-w-0 items-start gap-4 lg:grid-cols-2">
        <CallForm
          busy={check.isPending}
          onCheck={(body) =>
            check.mutate(body, {
              onSuccess: ({ verdict }) => announce(words.verdicts[verdict] ?? verdict),
            })
          }
        />
        <div className="flex min-w-0 flex-col gap-3">
          <ErrorNote error={check.error} />
          {check.data && !check.error ? <Decision decision={check.data} /> : null}
          {check.data || check.error ? null : (
            <p className="rounded-lg border border-dashed p-6 text-center text-soft">{words.nothing}</p>
          )}
        </div>
      </div>
    </Section>
  );
}
