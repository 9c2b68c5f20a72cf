import { Component, type ReactNode } from "react";
import { useWords } from "../i18n";
import { Button } from "../ui/Button";
import { ErrorNote } from "../ui/ErrorNote";

interface ErrorState {
  error: unknown;
}

/** Keeps an error of one page from taking the rest with it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, ErrorState> {
  override state: ErrorState = { error: null };

  static getDerivedStateFromError(error: unknown): ErrorState {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === null ? (
      this.props.children
    ) : (
      <ErrorPage error={error} onRetry={() => this.setState({ error: null })} />
    );
  }
}

function ErrorPage({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const words = useWords("shell");
  return (
    <div className="flex flex-col gap-3 p-4">
      <h1 className="text-lg font-semibold">{words.broken}</h1>
      <p className="text-soft">{words.brokenHint}</p>
      <ErrorNote error={error} />
      <div className="flex gap-2">
        <Button onClick={onRetry}>{words.again}</Button>
        <Button onClick={() => window.location.reload()}>{words.reload}</Button>
      </div>
    </div>
  );
}
