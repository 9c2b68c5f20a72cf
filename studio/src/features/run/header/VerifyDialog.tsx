import { useEffect } from "react";
import { useVerifyRun, type Verdict } from "../../../api/files";
import { useFormat, useWords } from "../../../i18n";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { DoneIcon, WarnIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { ServerText } from "../../../ui/ServerText";
import { Spinner } from "../../../ui/Spinner";

/** Checks a run against its sealed log, and shows what was found. */
export function VerifyDialog({
  runId,
  open,
  onClose,
}: {
  runId: string;
  open: boolean;
  onClose: () => void;
}) {
  const words = useWords("run");
  const { mutate, reset, data, error, isPending } = useVerifyRun();
  useEffect(() => {
    if (open) {
      mutate({ id: runId });
    } else {
      reset();
    }
  }, [open, runId, mutate, reset]);
  return (
    <Dialog open={open} onClose={onClose} title={words.verifyTitle} description={words.verifyHint}>
      {isPending ? <Spinner label={words.verifying} /> : null}
      <ErrorNote error={error} />
      {data ? <Result verdict={data} /> : null}
    </Dialog>
  );
}

const TONES = { verified: "text-good", not_authenticated: "text-wait", not_verified: "text-bad" } as const;

function Result({ verdict }: { verdict: Verdict }) {
  const words = useWords("run");
  const format = useFormat();
  return (
    <div role="status" className="flex flex-col gap-2">
      <p className={`flex items-center gap-1.5 font-medium ${TONES[verdict.outcome]}`}>
        {verdict.outcome === "verified" ? <DoneIcon /> : <WarnIcon />}
        {verdict.outcome === "verified"
          ? words.verified(format.number(verdict.events))
          : verdict.outcome === "not_authenticated"
            ? words.notAuthenticated(format.number(verdict.events))
            : words.notVerified}
      </p>
      <p className="text-soft">{verdict.authentic ? words.authentic : words.notAuthentic}</p>
      {verdict.findings.length > 0 ? (
        <ul className="flex flex-col gap-1 rounded-md bg-sunken p-2 text-xs">
          {verdict.findings.map((finding, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
            <li key={index}>
              <PlainText
                text={[finding.severity, finding.code, finding.where].filter(Boolean).map(String).join(" · ")}
              />
              <ServerText text={String(finding.message ?? "")} />
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
