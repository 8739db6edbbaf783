// What the address says after its question mark: a link shows the same view, filter, latents.

export const asked = () => new URLSearchParams(location.hash.split("?")[1] ?? "");

// The protocol and the representation whose scores the address asks for.
export const askedScores = () =>
  Object.fromEntries([...asked()].filter(([key]) => ["protocol", "representation"].includes(key)));

// The address with these changes, an empty one being left out; the page stays as it is.
export function remember(changes) {
  const [path] = location.hash.split("?"),
    query = asked();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString(),
    address = `${path || "#/"}${text ? `?${text}` : ""}`;
  // The bare address is the list's, too; writing an address takes the browser longer than a row.
  if (address !== (location.hash || "#/")) history.replaceState(null, "", address);
}
