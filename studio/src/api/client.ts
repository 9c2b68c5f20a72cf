import { apiAddress } from "../lib/place";
import { accessKey, accessNeeded } from "./access";
import { Problem, readProblem } from "./problem";

/** Values of a query; absent ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** What a request may have besides its path. */
export interface Asking {
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, with this content type. */
  raw?: { data: BodyInit; type: string };
  /** The same key and request give the same result once. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
}

/** A path below the API with its parts escaped: `` path`runs/${id}/events` ``; slashes inside a part stay slashes. */
export function path(strings: TemplateStringsArray, ...parts: (string | number)[]): string {
  return strings.reduce((whole, piece, index) => {
    const part = parts[index];
    const escaped = part === undefined ? "" : String(part).split("/").map(encodeURIComponent).join("/");
    return whole + piece + escaped;
  }, "");
}

/** The whole address of something below the API, for links and streams. */
export function addressOf(where: string, query: Query = {}): string {
  const address = new URL(where, apiAddress());
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") {
      address.searchParams.set(name, String(value));
    }
  }
  return address.href;
}

/** Asks the server, and throws a `Problem` unless it agrees. */
export async function ask(method: string, where: string, asking: Asking = {}): Promise<Response> {
  const response = await send(method, where, asking);
  if (!response.ok) {
    const problem = await readProblem(response);
    if (problem.status === 401) {
      accessNeeded.set(true);
    }
    throw problem;
  }
  return response;
}

async function send(method: string, where: string, asking: Asking): Promise<Response> {
  const body = asking.raw
    ? asking.raw.data
    : asking.body === undefined
      ? undefined
      : JSON.stringify(asking.body);
  try {
    return await fetch(addressOf(where, asking.query), {
      method,
      body,
      headers: headersOf(method, asking),
      signal: asking.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") {
      throw error;
    }
    throw new Problem(0, "offline", "", "");
  }
}

function headersOf(method: string, asking: Asking): Record<string, string> {
  const key = accessKey();
  return {
    accept: "application/json",
    ...(key ? { authorization: `Bearer ${key}` } : {}),
    ...(method === "GET" ? {} : { "x-skills-runtime": "1" }),
    ...(asking.raw ? { "content-type": asking.raw.type } : {}),
    ...(asking.body === undefined ? {} : { "content-type": "application/json" }),
    ...(asking.idempotencyKey ? { "idempotency-key": asking.idempotencyKey } : {}),
    ...asking.headers,
  };
}

/** Fetches JSON. */
export async function getJson<Answer>(where: string, asking: Asking = {}): Promise<Answer> {
  return (await ask("GET", where, asking)).json() as Promise<Answer>;
}

/** Fetches text; `limit` cuts what is longer, by asking for the first bytes only. */
export async function getText(where: string, asking: Asking & { limit?: number } = {}): Promise<string> {
  const range: Record<string, string> = asking.limit ? { range: `bytes=0-${asking.limit - 1}` } : {};
  try {
    return await (
      await ask("GET", where, { ...asking, headers: { accept: "*/*", ...range, ...asking.headers } })
    ).text();
  } catch (error) {
    // What is empty has no first bytes.
    if (asking.limit && error instanceof Problem && error.status === 416) {
      return "";
    }
    throw error;
  }
}

/** Fetches bytes. */
export async function getBlob(where: string, asking: Asking = {}): Promise<Blob> {
  return (await ask("GET", where, { ...asking, headers: { accept: "*/*", ...asking.headers } })).blob();
}

/** Changes something, and reads the answer if there is one. */
export async function sendJson<Answer>(
  method: "POST" | "PUT" | "DELETE",
  where: string,
  asking: Asking = {},
): Promise<Answer> {
  const response = await ask(method, where, asking);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as Answer;
}

/** A new key for one wish; keep it while the same wish is tried again. */
export function newIdempotencyKey(): string {
  return crypto.randomUUID();
}
