// Formats names of objects in other projects: `web1@team`. Pure; live/project-scope.ts finds the project of a name.

export const scopedName = (name: string, project: string | undefined): string =>
  project === undefined ? name : `${name}@${project}`;

/** The name without its project. */
export const plainName = (name: string, project: string | undefined): string =>
  project !== undefined && name.endsWith(`@${project}`) ? name.slice(0, -project.length - 1) : name;
