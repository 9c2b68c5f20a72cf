/** Saves what stands at an address: the browser does it itself, unless a key has to be sent with the request. */
export async function saveFrom(
  address: string,
  name: string,
  fetchBlob: ((address: string) => Promise<Blob>) | null,
): Promise<void> {
  if (fetchBlob === null) {
    follow(address, name);
    return;
  }
  const here = URL.createObjectURL(await fetchBlob(address));
  follow(here, name);
  setTimeout(() => URL.revokeObjectURL(here), 60_000);
}

function follow(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
