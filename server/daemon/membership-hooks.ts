// Hooks through which membership use cases reach the daemon that is composed around them.
export class MembershipHooks {
  #listen: ((address: string | undefined) => Promise<void>) | undefined;
  #became: (() => Promise<void>) | undefined;

  /** Opens the listener for the other members, or closes it. */
  readonly listen = async (address: string | undefined): Promise<void> => {
    await this.#listen?.(address);
  };

  /** Called when the host has become a member. */
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
