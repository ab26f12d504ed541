// The context that the controller gives to a source.

export interface SourceContext {
  /** Folder of the controller; a source writes below `sources/NAME` of it. */
  readonly stateDir: string;
  /** Makes paths of the configuration absolute. */
  readonly absolute: (path: string) => string;
  /** RFC 3339. */
  readonly now: () => string;
  /** Default: git. */
  readonly gitProgram?: string;
}
