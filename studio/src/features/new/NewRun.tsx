import { useStartOptions } from "../../api/startRun";
import { useWords } from "../../i18n";
import { useSearchValues } from "../../lib/search";
import { ErrorNote } from "../../ui/ErrorNote";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { NewRunForm } from "./NewRunForm";

/** Where a run is started; the address may already have a task or a session. */
export function NewRun() {
  const words = useWords("start");
  const [values] = useSearchValues();
  const { data, error, isPending, refetch } = useStartOptions();
  return (
    <Page title={words.title}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending ? <Skeleton lines={6} /> : null}
      {data ? <NewRunForm options={data} task={values.task ?? ""} sessionId={values.session} /> : null}
    </Page>
  );
}
