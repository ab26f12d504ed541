// What a proxy device forwards where, as data. Pure.
export interface ProxyRun {
  readonly device: string;
}
