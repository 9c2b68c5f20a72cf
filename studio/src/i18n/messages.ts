import { formatMessage, type Values } from "./icu";
import { useLanguage } from "./language";
import { useCodes, useWords } from "./words";

/** Says what errors and notices of the server mean; an empty text where a kind has no message. */
export interface Messages {
  error(kind: string, details?: Values): string;
  notice(type: string, details?: Values): string;
  /** What a finding of the security scan is, in a language that the server does not speak. */
  finding(code: string): string;
  /** What helps against a diagnostic of a skill, in a language that the server does not speak. */
  diagnostic(code: string): string;
}

/** The messages of the language in use. */
export function useMessages(): Messages {
  const { errors, notices } = useWords("messages");
  const codes = useCodes();
  const language = useLanguage();
  const format = (message: string | undefined, values: Values = {}) =>
    message === undefined ? "" : formatMessage(message, values, language);
  return {
    error: (kind, details) => format(errors[kind], details),
    notice: (type, details) => format(notices[type], details),
    finding: (code) => codes.findings[code] ?? "",
    diagnostic: (code) => codes.diagnostics[code] ?? "",
  };
}
