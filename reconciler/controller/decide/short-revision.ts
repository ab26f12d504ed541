// Shortens revisions for people.

export const short = (revision: string): string => revision.replace(/^sha256:/, '').slice(0, 12);
