// What /proc/self/mountinfo says about mounts. Pure.

/** File system type of the last mount at `target` in a mountinfo text; undefined when nothing is mounted there. */
export const mountedAt = (mountinfo: string, target: string): string | undefined =>
  mountsIn(mountinfo).findLast(({ path }) => path === target)?.type;

/** At the directory, or anywhere in it. */
export const isMountedBelow = (mountinfo: string, directory: string): boolean =>
  mountsIn(mountinfo).some(({ path }) => path === directory || path.startsWith(`${directory}/`));

function mountsIn(mountinfo: string): readonly { readonly path: string; readonly type: string }[] {
  return mountinfo.split('\n').map((line) => {
    const [left = '', right = ''] = line.split(' - ');
    const path = (left.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCharCode(parseInt(code, 8)),
    );
    return { path, type: right.split(' ')[0] ?? '' };
  });
}
