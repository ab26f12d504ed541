// What can be waited for of a container, beyond its status.

interface Limited {
  readonly timeoutMs: number;
}
export type WaitCondition =
  | (Limited & { readonly type: 'running' })
  /** A global address of the family on the interface; on any interface but lo when `nic` is absent. */
  | (Limited & { readonly type: 'ipv4' | 'ipv6'; readonly nic?: string })
  /** The command ends with code 0 inside. */
  | (Limited & { readonly type: 'exec'; readonly command: readonly string[] })
  /** Something accepts connections from where gantry runs; at the container's first address when `host` is absent. */
  | (Limited & { readonly type: 'tcp'; readonly host?: string; readonly port: number })
  /** Whatever it is, there is something at this absolute path inside. */
  | (Limited & { readonly type: 'file'; readonly path: string })
  /** cloud-init has done its work, without errors that it could not get over. */
  | (Limited & { readonly type: 'cloud-init' });
