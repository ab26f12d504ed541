// Checks the labels of resources and data sources: Terraform refuses others, and our moved blocks could not name them. Pure.
import type { Item } from './read-body.ts';

interface Problem {
  /** An offset in the text. */
  readonly at: number;
  readonly text: string;
}

const identifier = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u;

export function labelProblems(items: readonly Item[]): readonly Problem[] {
  return items.flatMap((item): readonly Problem[] => {
    if (item.type !== 'block' || (item.name !== 'resource' && item.name !== 'data')) return [];
    const [type, name, third] = item.labels;
    if (type === undefined || name === undefined || third !== undefined)
      return [{ at: item.start, text: `a ${item.name} block has two labels, its type and its name` }];
    return [type, name]
      .filter(({ text }) => !identifier.test(text))
      .map(({ text, start }) => ({
        at: start,
        text: `${JSON.stringify(text)} cannot be a label in Terraform: write letters, digits, _ and -, with a letter or _ first`,
      }));
  });
}
