/** An error response of the server, in one shape for all endpoints. */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    /** The HTTP status; 0 where no answer came. */
    readonly status: number,
    /** A stable word for programs, such as `approval_stale`. */
    readonly kind: string,
    readonly title: string,
    readonly detail: string,
    readonly hint = "",
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail || title);
  }
}

/** Any error as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) {
    return error;
  }
  return new Problem(0, "unknown", "", error instanceof Error ? error.message : String(error));
}

/** Reads the problem out of a refusal: RFC 9457, or one of the two older shapes of the service. */
export async function readProblem(response: Response): Promise<Problem> {
  const body = record(await response.json().catch(() => null));
  const older = record(body.detail);
  const kind = text(body.kind) || text(older.kind) || text(body.code) || "http_error";
  const detail = text(body.detail) || text(older.message) || text(body.error);
  const details = record(body.details ?? older.details);
  return new Problem(
    response.status,
    kind,
    text(body.title) || response.statusText,
    detail,
    text(body.hint),
    details,
  );
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
