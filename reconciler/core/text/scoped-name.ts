// How names of objects in other projects are spelled: `web1@team`. Pure; which project a name is looked for in is scope.ts.

export const scopedName = (name: string, project: string | undefined): string =>
  project === undefined ? name : `${name}@${project}`;

/** The name without its project. */
export const plainName = (name: string, project: string | undefined): string =>
  project !== undefined && name.endsWith(`@${project}`) ? name.slice(0, -project.length - 1) : name;
