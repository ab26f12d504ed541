// The conditions of a container that a caller can wait for, beyond its status.

interface TimeLimit {
  readonly timeoutMs: number;
}
export type WaitCondition =
  | (TimeLimit & { readonly type: 'running' })
  /** A global address of the family on the interface; on any interface but lo when `nic` is absent. */
  | (TimeLimit & { readonly type: 'ipv4' | 'ipv6'; readonly nic?: string })
  /** The command ends with code 0 inside. */
  | (TimeLimit & { readonly type: 'exec'; readonly command: readonly string[] })
  /** A port accepts connections from the machine that runs gantry; at the container's first address when `host` is absent. */
  | (TimeLimit & { readonly type: 'tcp'; readonly host?: string; readonly port: number })
  /** A file of any type exists at this absolute path inside. */
  | (TimeLimit & { readonly type: 'file'; readonly path: string })
  /** cloud-init is done, without errors that it did not recover from. */
  | (TimeLimit & { readonly type: 'cloud-init' });
