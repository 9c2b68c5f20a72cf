import { apiUrl } from "../lib/baseUrl";
import { accessKey, accessNeeded } from "./access";
import { Problem, readProblem } from "./problem";

/** Query parameters; empty ones are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Options of a request. */
export interface RequestOptions {
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
export function addressOf(endpoint: string, query: Query = {}): string {
  const address = new URL(endpoint, apiUrl());
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") {
      address.searchParams.set(name, String(value));
    }
  }
  return address.href;
}

/** Sends a request and throws a `Problem` unless it succeeds. */
export async function request(
  method: string,
  endpoint: string,
  options: RequestOptions = {},
): Promise<Response> {
  const response = await send(method, endpoint, options);
  if (!response.ok) {
    const problem = await readProblem(response);
    if (problem.status === 401) {
      accessNeeded.set(true);
    }
    throw problem;
  }
  return response;
}

async function send(method: string, endpoint: string, options: RequestOptions): Promise<Response> {
  const body = options.raw
    ? options.raw.data
    : options.body === undefined
      ? undefined
      : JSON.stringify(options.body);
  try {
    return await fetch(addressOf(endpoint, options.query), {
      method,
      body,
      headers: headersOf(method, options),
      signal: options.signal,
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

function headersOf(method: string, options: RequestOptions): Record<string, string> {
  const key = accessKey();
  return {
    accept: "application/json",
    ...(key ? { authorization: `Bearer ${key}` } : {}),
    ...(method === "GET" ? {} : { "x-skills-runtime": "1" }),
    ...(options.raw ? { "content-type": options.raw.type } : {}),
    ...(options.body === undefined ? {} : { "content-type": "application/json" }),
    ...(options.idempotencyKey ? { "idempotency-key": options.idempotencyKey } : {}),
    ...options.headers,
  };
}

/** Fetches JSON. */
export async function getJson<Answer>(endpoint: string, options: RequestOptions = {}): Promise<Answer> {
  return (await request("GET", endpoint, options)).json() as Promise<Answer>;
}

/** Fetches text; `limit` cuts what is longer, by asking for the first bytes only. */
export async function getText(
  endpoint: string,
  options: RequestOptions & { limit?: number } = {},
): Promise<string> {
  const range: Record<string, string> = options.limit ? { range: `bytes=0-${options.limit - 1}` } : {};
  try {
    return await (
      await request("GET", endpoint, { ...options, headers: { accept: "*/*", ...range, ...options.headers } })
    ).text();
  } catch (error) {
    // An empty resource has no first bytes: the range request fails.
    if (options.limit && error instanceof Problem && error.status === 416) {
      return "";
    }
    throw error;
  }
}

/** Fetches bytes. */
export async function getBlob(endpoint: string, options: RequestOptions = {}): Promise<Blob> {
  return (
    await request("GET", endpoint, { ...options, headers: { accept: "*/*", ...options.headers } })
  ).blob();
}

/** Sends a change and parses the JSON response, if there is one. */
export async function sendJson<Answer>(
  method: "POST" | "PUT" | "DELETE",
  endpoint: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const response = await request(method, endpoint, options);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as Answer;
}

/** Creates an idempotency key; reuse it when the same request is retried. */
export function newIdempotencyKey(): string {
  return crypto.randomUUID();
}
