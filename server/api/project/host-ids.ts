// Reads host ids in lines of raw.idmap, and checks that a project may use them. Pure.

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Lines of `raw.idmap` with a host user or group id outside the lists (`1000,2000-2999`). */
export function uncoveredIdMapLines(idMap: string, uids: string, gids: string): readonly string[] {
  const [users, groups] = [rangesOf(uids), rangesOf(gids)];
  return idMap
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => {
      if (line === '') return false;
      const match = /^(both|uid|gid) ([0-9]{1,10})(?:-([0-9]{1,10}))? /.exec(line);
      if (match === null) return true;
      const range = { from: Number(match[2]), to: Number(match[3] ?? match[2]) };
      const isUser = match[1] !== 'gid';
      const isGroup = match[1] !== 'uid';
      return (isUser && !isCovered(range, users)) || (isGroup && !isCovered(range, groups));
    });
}

export function idListRule(text: string): string | undefined {
  return rangesOf(text).length === text.split(',').length
    ? undefined
    : 'must be ids and ranges of ids with commas between (1000,2000-2999)';
}

function rangesOf(text: string): readonly Range[] {
  return text.split(',').flatMap((part) => {
    const match = /^([0-9]{1,10})(?:-([0-9]{1,10}))?$/.exec(part.trim());
    if (match === null) return [];
    const range = { from: Number(match[1]), to: Number(match[2] ?? match[1]) };
    return range.from <= range.to ? [range] : [];
  });
}

const isCovered = ({ from, to }: Range, allowed: readonly Range[]): boolean => {
  let next = from;
  for (const range of allowed.toSorted((a, b) => a.from - b.from)) {
    if (range.from > next) break;
    if (range.to >= next) next = range.to + 1;
  }
  return next > to;
};
