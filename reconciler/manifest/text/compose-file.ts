// Recognizes the files of docker compose that lie beside manifests, as after `gantry import compose`. Pure.

const names = /^(docker-)?compose(\.[\w-]+)?\.ya?ml$/;

/** Named as compose names them, and no manifest. */
export const isComposeFile = (name: string, text: string): boolean =>
  names.test(name) && /^services:/m.test(text) && !/^kind:/m.test(text);
