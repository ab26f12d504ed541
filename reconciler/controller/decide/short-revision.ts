// Revisions in the short form that people write.

export const short = (revision: string): string => revision.replace(/^sha256:/, '').slice(0, 12);
