// Names in a message: the first ones, and how many more there are.

/** `a, b and 3 more`. */
export const namesText = (names: readonly string[], max = 5): string =>
  names.length > max ? `${names.slice(0, max).join(', ')} and ${names.length - max} more` : names.join(', ');
