import { Link } from "wouter";
import { useWords } from "../../i18n";
import { WarnIcon } from "../../ui/icons";

/** Says that no model is configured, where one is, and what works without. */
export function NoModel() {
  const words = useWords("start");
  return (
    <div role="note" className="flex gap-2 rounded-md border border-wait bg-wait-soft p-3">
      <WarnIcon className="mt-0.5 size-4 shrink-0 text-wait" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{words.noModel}</p>
        <p>{words.noModelHint}</p>
        <p className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1">
          <Link href="/operations/model" className="font-medium">
            {words.configureModel}
          </Link>
          <Link href="/welcome" className="font-medium">
            {words.tryDemo}
          </Link>
        </p>
      </div>
    </div>
  );
}
