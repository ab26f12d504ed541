// The conditions of a container that a caller can wait for, beyond its status.

interface Limited {
  readonly timeoutMs: number;
}
export type WaitCondition =
  | (Limited & { readonly type: 'running' })
  /** A global address of the family on the interface; on any interface but lo when `nic` is absent. */
  | (Limited & { readonly type: 'ipv4' | 'ipv6'; readonly nic?: string })
  /** The command ends with code 0 inside. */
  | (Limited & { readonly type: 'exec'; readonly command: readonly string[] })
  /** A port accepts connections from the machine that runs gantry; at the container's first address when `host` is absent. */
  | (Limited & { readonly type: 'tcp'; readonly host?: string; readonly port: number })
  /** A file of any type exists at this absolute path inside. */
  | (Limited & { readonly type: 'file'; readonly path: string })
  /** cloud-init is done, without errors that it did not recover from. */
  | (Limited & { readonly type: 'cloud-init' });
