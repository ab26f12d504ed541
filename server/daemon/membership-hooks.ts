// The hooks through which use cases of membership reach the daemon that is put together around them.
export class MembershipHooks {
  #listen: ((address: string | undefined) => Promise<void>) | undefined;
  #became: (() => Promise<void>) | undefined;

  /** Opens the listener for the other members, or closes it. */
  readonly listen = async (address: string | undefined): Promise<void> => {
    await this.#listen?.(address);
  };

  /** The host is a member now. */
  readonly became = async (): Promise<void> => {
    await this.#became?.();
  };

  set(hooks: {
    readonly listen: (address: string | undefined) => Promise<void>;
    readonly became: () => Promise<void>;
  }): void {
    this.#listen = hooks.listen;
    this.#became = hooks.became;
  }
}
