// The methods that answer Terraform's calls to the provider. They load at the first call that needs them, not at the start.
import { ProviderServer } from './framework/server.ts';
import { gantryProvider, type GantryDeps } from './gantry.ts';
import type { Methods } from './wire/grpc.ts';
import { providerMethods } from './wire/rpcs.ts';

export const gantryMethods = (deps: GantryDeps): Methods => providerMethods(new ProviderServer(gantryProvider(deps)));
