declare module "virtual:said" {
  /** All sentences of the service, and beside them their Chinese. */
  export function columns(): Promise<[english: string[], chinese: string[]]>;
}
