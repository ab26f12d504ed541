// Makes internal names in the daemon's texts readable: users see the names that they gave. Pure.

/** `PROJECT%NAME`, perhaps after a bracket; the name ends before punctuation. */
const qualified = /([^\s/%*_'":,\\]+)%([^\s%:,'"()]*[^\s%:,'"().;])/g;

/** The text with `NAME` for objects of this project and `NAME (project P)` for others. Without a project, as in logs, host paths stay
 *  unchanged. */
export function readableNames(text: string, project: string | undefined, isProject: (name: string) => boolean): string {
  if (!text.includes('%')) return text;
  return text.replace(qualified, (whole, before: string, name: string, at: number) => {
    const owner = isProject(before) ? before : before.replace(/^[([{<=]+/, '');
    if (!isProject(owner)) return whole;
    const lead = before.slice(0, before.length - owner.length);
    const isPath = lead === '' && text[at - 1] === '/';
    if (isPath && project === undefined) return whole;
    return owner === project || isPath ? `${lead}${name}` : `${lead}${name} (project ${owner})`;
  });
}
