// Serves one ephemeral resource: one method for each call of Terraform. Values in, values out.
import type { Diagnostic } from '../diagnostic.ts';
import type { PrivateData } from '../object-type.ts';
import type { ValueMap } from '../value.ts';
import { closeEphemeral } from './close.ts';
import type { AnyEphemeralResource } from './ephemeral-resource.ts';
import { openEphemeral, type OpenResult } from './open.ts';
import type { EphemeralDeps } from './operating.ts';
import { renewEphemeral, type RenewResult } from './renew.ts';
import { validateEphemeral } from './validate.ts';

export class EphemeralServer<C> {
  readonly #deps: EphemeralDeps<C>;
  constructor(deps: EphemeralDeps<C>) {
    this.#deps = deps;
  }
  get resource(): AnyEphemeralResource<C> {
    return this.#deps.resource;
  }
  validate(config: ValueMap): readonly Diagnostic[] {
    return validateEphemeral(this.#deps.resource, config);
  }
  open(config: ValueMap): Promise<OpenResult> {
    return openEphemeral(this.#deps, config);
  }
  renew(privateData: PrivateData): Promise<RenewResult> {
    return renewEphemeral(this.#deps, privateData);
  }
  close(privateData: PrivateData): Promise<readonly Diagnostic[]> {
    return closeEphemeral(this.#deps, privateData);
  }
}
