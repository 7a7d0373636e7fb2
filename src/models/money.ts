// Amounts of money. They are stored in billionths of a US dollar, because whole numbers keep sums exact.

export const nanosPerDollar = 1e9;

/** No budget and no sum is higher. A sum that no number can hold would break all readers of its row. */
export const dollarsMax = 1_000_000;
export const nanosMax = dollarsMax * nanosPerDollar;
