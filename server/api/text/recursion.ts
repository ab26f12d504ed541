// The query parameter `recursion` of a collection, as LXD reads it: whole numbers only, and any but 0 asks for objects. Pure.

export const recursionOf = ({ recursion = '' }: { readonly recursion?: string | undefined }): number =>
  /^[+-]?\d{1,15}$/.test(recursion) ? Math.abs(Number(recursion)) : 0;
