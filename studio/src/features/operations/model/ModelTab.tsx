import { Link } from "wouter";
import { type Model, useModel, useProviders } from "../../../api/model";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ServerText } from "../../../ui/ServerText";
import { Note } from "../Note";
import { QueryContent } from "../QueryContent";
import { Section } from "../Section";
import { KeyState } from "./KeyState";
import { ModelForm } from "./ModelForm";

/** The one place where a model is configured. */
export default function ModelTab() {
  const words = useWords("model");
  const query = useModel();
  const providers = useProviders();
  return (
    <Section title={words.title} hint={words.hint}>
      <QueryContent query={query} lines={6}>
        {(model) => (
          <div className="flex max-w-3xl flex-col gap-4">
            <Readiness model={model} />
            <ModelForm model={model} providers={providers.data ?? []} />
            <KeyState model={model} />
          </div>
        )}
      </QueryContent>
    </Section>
  );
}

function Readiness({ model }: { model: Model }) {
  const words = useWords("model");
  if (!model.ready) {
    return (
      <Note tone="wait" title={words.notReady} label={words.state}>
        <p>
          <ServerText text={model.problem} />
        </p>
      </Note>
    );
  }
  return (
    <Note tone="good" title={words.ready(displayText(model.model))} label={words.state}>
      <p>
        {model.backend === "openai" ? displayText(model.base_url) : words.backend(displayText(model.backend))}
      </p>
      <p>
        <Link href="/new">{words.start}</Link>
      </p>
    </Note>
  );
}
