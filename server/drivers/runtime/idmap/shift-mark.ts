// Marks a file tree whose owners are being shifted on disk. The mark is an attribute of the top directory, which goes along to another pool,
// host or kernel: there the records, and the owner of the top directory, would not show that the rest was shifted in part.
import type { IdMapEntry } from '../driver.ts';
import { loadAttributes } from './owned-attributes.ts';
import { parseIdMap, renderIdMap, sameMap } from './plan.ts';

type IdMap = readonly IdMapEntry[];

const attribute = 'trusted.gantry.shift';

export interface ShiftMark {
  /** Maps of which the files may have ids, apart from those that the container sees. Undefined: no shift was cut off. */
  readonly maps: readonly IdMap[] | undefined;
  /** Runs `work`, which shifts the files between these maps, and takes the mark away once it has succeeded. */
  during(maps: readonly IdMap[], work: () => Promise<void>): Promise<void>;
}

/** On a file system without such attributes a shift leaves no mark. */
export async function readShiftMark(path: string): Promise<ShiftMark> {
  const calls = await loadAttributes();
  const file = Buffer.from(path);
  const maps = parseMark(calls?.read(file, attribute)?.toString('utf8'));
  return {
    maps,
    async during(more, work) {
      const text = renderMark([...(maps ?? []), ...more]);
      try {
        calls?.write(file, attribute, Buffer.from(text));
      } catch {
        // A file system without attributes, or a file without any of its own, such as a socket.
      }
      await work();
      calls?.remove(file, attribute);
    },
  };
}

function renderMark(maps: readonly IdMap[]): string {
  const distinct = maps.filter(
    (map, index) => map.length > 0 && maps.findIndex((other) => sameMap(map, other)) === index,
  );
  return JSON.stringify(distinct.map(renderIdMap));
}

/** A mark that cannot be read still shows that a shift was cut off. */
function parseMark(text: string | undefined): readonly IdMap[] | undefined {
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    const parts: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
    return parts.flatMap((part) => {
      const map = parseIdMap(typeof part === 'string' ? part : undefined);
      return map === undefined ? [] : [map];
    });
  } catch {
    return [];
  }
}
