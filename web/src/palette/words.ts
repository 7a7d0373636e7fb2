// How the palette compares what the user types with what it offers.

/** Whether all words of the text are in the label, in any order. */
export function matchesWords(label: string, text: string): boolean {
  const found = label.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => found.includes(word));
}
