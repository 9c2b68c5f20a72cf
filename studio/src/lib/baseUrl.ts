/** The path below which the app lives, without a slash at its end: `/studio`. */
export function appPath(base: string = document.baseURI): string {
  return new URL(base).pathname.replace(/\/+$/, "");
}

/** The address of the API, with a slash at its end; it stands beside the app. */
export function apiUrl(base: string = document.baseURI): string {
  return new URL("../api/v1/", base.endsWith("/") ? base : `${base}/`).href;
}
