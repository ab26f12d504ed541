// https://registry.terraform.io/providers/gantry/gantry/latest/docs
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface GantryProviderConfig {
  /**
  * Address of the daemon: `unix:///var/lib/gantry/unix.socket` or `https://host:8443`; of a cluster several https addresses with commas between, of which the next is used when one does not answer. Environment: `GANTRY_ADDRESS`. There is no default.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#address GantryProvider#address}
  */
  readonly address?: string;
  /**
  * Client certificate for https, as PEM. Environment: `GANTRY_CLIENT_CERTIFICATE`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_certificate GantryProvider#client_certificate}
  */
  readonly clientCertificate?: string;
  /**
  * Path of the client certificate, instead of `client_certificate`. Environment: `GANTRY_CLIENT_CERTIFICATE_FILE`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_certificate_file GantryProvider#client_certificate_file}
  */
  readonly clientCertificateFile?: string;
  /**
  * Key of the client certificate, as PEM. Environment: `GANTRY_CLIENT_KEY`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_key GantryProvider#client_key}
  */
  readonly clientKey?: string;
  /**
  * Path of the key, instead of `client_key`. Environment: `GANTRY_CLIENT_KEY_FILE`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_key_file GantryProvider#client_key_file}
  */
  readonly clientKeyFile?: string;
  /**
  * The only server certificate to accept: its SHA-256 fingerprint, or PEM. Without it the system must trust the certificate. Environment: `GANTRY_SERVER_CERTIFICATE`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#server_certificate GantryProvider#server_certificate}
  */
  readonly serverCertificate?: string;
  /**
  * Token of the OpenID Connect issuer that the server trusts, instead of a client certificate; https only. Environment: `GANTRY_TOKEN`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#token GantryProvider#token}
  */
  readonly token?: string;
  /**
  * Path of a file with the token, instead of `token`: the token alone, or the file that `gantry login` keeps (`~/.config/gantry/logins`). It is read again when the token is about to end. Environment: `GANTRY_TOKEN_FILE`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#token_file GantryProvider#token_file}
  */
  readonly tokenFile?: string;
  /**
  * With this password the provider adds the client certificate to the trusted certificates when it is missing there. Used once, never stored. Environment: `GANTRY_TRUST_PASSWORD`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#trust_password GantryProvider#trust_password}
  */
  readonly trustPassword?: string;
  /**
  * One-use token of `gantry trust add` or `lxc config trust add`: with it the provider adds the client certificate to the trusted certificates when it is missing there, and, without `server_certificate`, accepts only the certificate of the server that made the token. Never stored; a used one may stay. Environment: `GANTRY_TRUST_TOKEN`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#trust_token GantryProvider#trust_token}
  */
  readonly trustToken?: string;
  /**
  * How long a request may take without a byte from the server, such as `90s`; uploads and the streams of commands are exempt. Default: `60s`. Environment: `GANTRY_REQUEST_TIMEOUT`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#request_timeout GantryProvider#request_timeout}
  */
  readonly requestTimeout?: string;
  /**
  * Project of all objects, on servers with projects. Environment: `GANTRY_PROJECT`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#project GantryProvider#project}
  */
  readonly project?: string;
  /**
  * Default cluster member for new objects. Environment: `GANTRY_TARGET`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#target GantryProvider#target}
  */
  readonly target?: string;
  /**
  * Other servers, by names of your choice: a resource or data source with `remote` is on the server of that name. Each has its own settings; environment variables do not apply to them.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#remotes GantryProvider#remotes}
  */
  readonly remotes?: { [key: string]: GantryProviderRemotes } | cdktn.IResolvable;
  /**
  * Alias name
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#alias GantryProvider#alias}
  */
  readonly alias?: string;
}
export interface GantryProviderRemotes {
  /**
  * Address of the daemon, in the same form as that of the provider.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#address GantryProvider#address}
  */
  readonly address: string;
  /**
  * Client certificate for https, as PEM.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_certificate GantryProvider#client_certificate}
  */
  readonly clientCertificate?: string;
  /**
  * Path of the client certificate, instead of `client_certificate`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_certificate_file GantryProvider#client_certificate_file}
  */
  readonly clientCertificateFile?: string;
  /**
  * Key of the client certificate, as PEM.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_key GantryProvider#client_key}
  */
  readonly clientKey?: string;
  /**
  * Path of the key, instead of `client_key`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#client_key_file GantryProvider#client_key_file}
  */
  readonly clientKeyFile?: string;
  /**
  * The only server certificate to accept: its SHA-256 fingerprint, or PEM.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#server_certificate GantryProvider#server_certificate}
  */
  readonly serverCertificate?: string;
  /**
  * Token of the OpenID Connect issuer that the server trusts, instead of a client certificate.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#token GantryProvider#token}
  */
  readonly token?: string;
  /**
  * Path of a file with the token, instead of `token`: the token alone, or the file that `gantry login` keeps.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#token_file GantryProvider#token_file}
  */
  readonly tokenFile?: string;
  /**
  * With this password the provider adds the client certificate to the trusted certificates when it is missing there.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#trust_password GantryProvider#trust_password}
  */
  readonly trustPassword?: string;
  /**
  * One-use token with which the provider adds the client certificate to the trusted certificates when it is missing there.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#trust_token GantryProvider#trust_token}
  */
  readonly trustToken?: string;
  /**
  * How long a request may take without a byte from the server. Default: `60s`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#request_timeout GantryProvider#request_timeout}
  */
  readonly requestTimeout?: string;
  /**
  * Default project of the objects on this server.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#project GantryProvider#project}
  */
  readonly project?: string;
}

export function gantryProviderRemotesToTerraform(struct?: GantryProviderRemotes | cdktn.IResolvable): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  return {
    address: cdktn.stringToTerraform(struct!.address),
    client_certificate: cdktn.stringToTerraform(struct!.clientCertificate),
    client_certificate_file: cdktn.stringToTerraform(struct!.clientCertificateFile),
    client_key: cdktn.stringToTerraform(struct!.clientKey),
    client_key_file: cdktn.stringToTerraform(struct!.clientKeyFile),
    server_certificate: cdktn.stringToTerraform(struct!.serverCertificate),
    token: cdktn.stringToTerraform(struct!.token),
    token_file: cdktn.stringToTerraform(struct!.tokenFile),
    trust_password: cdktn.stringToTerraform(struct!.trustPassword),
    trust_token: cdktn.stringToTerraform(struct!.trustToken),
    request_timeout: cdktn.stringToTerraform(struct!.requestTimeout),
    project: cdktn.stringToTerraform(struct!.project),
  }
}


export function gantryProviderRemotesToHclTerraform(struct?: GantryProviderRemotes | cdktn.IResolvable): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  const attrs = {
    address: {
      value: cdktn.stringToHclTerraform(struct!.address),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_certificate: {
      value: cdktn.stringToHclTerraform(struct!.clientCertificate),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_certificate_file: {
      value: cdktn.stringToHclTerraform(struct!.clientCertificateFile),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key: {
      value: cdktn.stringToHclTerraform(struct!.clientKey),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    client_key_file: {
      value: cdktn.stringToHclTerraform(struct!.clientKeyFile),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    server_certificate: {
      value: cdktn.stringToHclTerraform(struct!.serverCertificate),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token: {
      value: cdktn.stringToHclTerraform(struct!.token),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    token_file: {
      value: cdktn.stringToHclTerraform(struct!.tokenFile),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    trust_password: {
      value: cdktn.stringToHclTerraform(struct!.trustPassword),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    trust_token: {
      value: cdktn.stringToHclTerraform(struct!.trustToken),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    request_timeout: {
      value: cdktn.stringToHclTerraform(struct!.requestTimeout),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    project: {
      value: cdktn.stringToHclTerraform(struct!.project),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}


import { GantryProviderFunctions } from '../provider-functions/index';
/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs gantry}
*/
export class GantryProvider extends cdktn.TerraformProvider {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a GantryProvider resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the GantryProvider to import
  * @param importFromId The id of the existing GantryProvider that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the GantryProvider to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs gantry} Resource
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options GantryProviderConfig = {}
  */
  public constructor(scope: Construct, id: string, config: GantryProviderConfig = {}) {
    super(scope, id, {
      terraformResourceType: 'gantry',
      terraformGeneratorMetadata: {
        providerName: 'gantry',
        providerVersionConstraint: '~> 0.1'
      },
      terraformProviderSource: 'gantry/gantry'
    });
    this._address = config.address;
    this._clientCertificate = config.clientCertificate;
    this._clientCertificateFile = config.clientCertificateFile;
    this._clientKey = config.clientKey;
    this._clientKeyFile = config.clientKeyFile;
    this._serverCertificate = config.serverCertificate;
    this._token = config.token;
    this._tokenFile = config.tokenFile;
    this._trustPassword = config.trustPassword;
    this._trustToken = config.trustToken;
    this._requestTimeout = config.requestTimeout;
    this._project = config.project;
    this._target = config.target;
    this._remotes = config.remotes;
    this._alias = config.alias;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // address - computed: false, optional: true, required: false
  private _address?: string; 
  public get address() {
    return this._address;
  }
  public set address(value: string | undefined) {
    this._address = value;
  }
  public resetAddress() {
    this._address = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get addressInput() {
    return this._address;
  }

  // client_certificate - computed: false, optional: true, required: false
  private _clientCertificate?: string; 
  public get clientCertificate() {
    return this._clientCertificate;
  }
  public set clientCertificate(value: string | undefined) {
    this._clientCertificate = value;
  }
  public resetClientCertificate() {
    this._clientCertificate = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientCertificateInput() {
    return this._clientCertificate;
  }

  // client_certificate_file - computed: false, optional: true, required: false
  private _clientCertificateFile?: string; 
  public get clientCertificateFile() {
    return this._clientCertificateFile;
  }
  public set clientCertificateFile(value: string | undefined) {
    this._clientCertificateFile = value;
  }
  public resetClientCertificateFile() {
    this._clientCertificateFile = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientCertificateFileInput() {
    return this._clientCertificateFile;
  }

  // client_key - computed: false, optional: true, required: false
  private _clientKey?: string; 
  public get clientKey() {
    return this._clientKey;
  }
  public set clientKey(value: string | undefined) {
    this._clientKey = value;
  }
  public resetClientKey() {
    this._clientKey = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyInput() {
    return this._clientKey;
  }

  // client_key_file - computed: false, optional: true, required: false
  private _clientKeyFile?: string; 
  public get clientKeyFile() {
    return this._clientKeyFile;
  }
  public set clientKeyFile(value: string | undefined) {
    this._clientKeyFile = value;
  }
  public resetClientKeyFile() {
    this._clientKeyFile = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get clientKeyFileInput() {
    return this._clientKeyFile;
  }

  // server_certificate - computed: false, optional: true, required: false
  private _serverCertificate?: string; 
  public get serverCertificate() {
    return this._serverCertificate;
  }
  public set serverCertificate(value: string | undefined) {
    this._serverCertificate = value;
  }
  public resetServerCertificate() {
    this._serverCertificate = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get serverCertificateInput() {
    return this._serverCertificate;
  }

  // token - computed: false, optional: true, required: false
  private _token?: string; 
  public get token() {
    return this._token;
  }
  public set token(value: string | undefined) {
    this._token = value;
  }
  public resetToken() {
    this._token = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenInput() {
    return this._token;
  }

  // token_file - computed: false, optional: true, required: false
  private _tokenFile?: string; 
  public get tokenFile() {
    return this._tokenFile;
  }
  public set tokenFile(value: string | undefined) {
    this._tokenFile = value;
  }
  public resetTokenFile() {
    this._tokenFile = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get tokenFileInput() {
    return this._tokenFile;
  }

  // trust_password - computed: false, optional: true, required: false
  private _trustPassword?: string; 
  public get trustPassword() {
    return this._trustPassword;
  }
  public set trustPassword(value: string | undefined) {
    this._trustPassword = value;
  }
  public resetTrustPassword() {
    this._trustPassword = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get trustPasswordInput() {
    return this._trustPassword;
  }

  // trust_token - computed: false, optional: true, required: false
  private _trustToken?: string; 
  public get trustToken() {
    return this._trustToken;
  }
  public set trustToken(value: string | undefined) {
    this._trustToken = value;
  }
  public resetTrustToken() {
    this._trustToken = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get trustTokenInput() {
    return this._trustToken;
  }

  // request_timeout - computed: false, optional: true, required: false
  private _requestTimeout?: string; 
  public get requestTimeout() {
    return this._requestTimeout;
  }
  public set requestTimeout(value: string | undefined) {
    this._requestTimeout = value;
  }
  public resetRequestTimeout() {
    this._requestTimeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get requestTimeoutInput() {
    return this._requestTimeout;
  }

  // project - computed: false, optional: true, required: false
  private _project?: string; 
  public get project() {
    return this._project;
  }
  public set project(value: string | undefined) {
    this._project = value;
  }
  public resetProject() {
    this._project = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get projectInput() {
    return this._project;
  }

  // target - computed: false, optional: true, required: false
  private _target?: string; 
  public get target() {
    return this._target;
  }
  public set target(value: string | undefined) {
    this._target = value;
  }
  public resetTarget() {
    this._target = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get targetInput() {
    return this._target;
  }

  // remotes - computed: false, optional: true, required: false
  private _remotes?: { [key: string]: GantryProviderRemotes } | cdktn.IResolvable; 
  public get remotes() {
    return this._remotes;
  }
  public set remotes(value: { [key: string]: GantryProviderRemotes } | cdktn.IResolvable | undefined) {
    this._remotes = value;
  }
  public resetRemotes() {
    this._remotes = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get remotesInput() {
    return this._remotes;
  }

  // alias - computed: false, optional: true, required: false
  private _alias?: string; 
  public get alias() {
    return this._alias;
  }
  public set alias(value: string | undefined) {
    this._alias = value;
  }
  public resetAlias() {
    this._alias = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get aliasInput() {
    return this._alias;
  }

  // ==========================
  // PROVIDER-DEFINED FUNCTIONS
  // ==========================
  private _functions?: GantryProviderFunctions;

  /**
  * Provider-defined functions of the gantry provider.
  */
  public get functions(): GantryProviderFunctions {
    if (!this._functions) {
      this._functions = new GantryProviderFunctions(this.terraformResourceType);
    }
    return this._functions;
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      address: cdktn.stringToTerraform(this._address),
      client_certificate: cdktn.stringToTerraform(this._clientCertificate),
      client_certificate_file: cdktn.stringToTerraform(this._clientCertificateFile),
      client_key: cdktn.stringToTerraform(this._clientKey),
      client_key_file: cdktn.stringToTerraform(this._clientKeyFile),
      server_certificate: cdktn.stringToTerraform(this._serverCertificate),
      token: cdktn.stringToTerraform(this._token),
      token_file: cdktn.stringToTerraform(this._tokenFile),
      trust_password: cdktn.stringToTerraform(this._trustPassword),
      trust_token: cdktn.stringToTerraform(this._trustToken),
      request_timeout: cdktn.stringToTerraform(this._requestTimeout),
      project: cdktn.stringToTerraform(this._project),
      target: cdktn.stringToTerraform(this._target),
      remotes: cdktn.hashMapper(gantryProviderRemotesToTerraform)(this._remotes),
      alias: cdktn.stringToTerraform(this._alias),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      address: {
        value: cdktn.stringToHclTerraform(this._address),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_certificate: {
        value: cdktn.stringToHclTerraform(this._clientCertificate),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_certificate_file: {
        value: cdktn.stringToHclTerraform(this._clientCertificateFile),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_key: {
        value: cdktn.stringToHclTerraform(this._clientKey),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      client_key_file: {
        value: cdktn.stringToHclTerraform(this._clientKeyFile),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      server_certificate: {
        value: cdktn.stringToHclTerraform(this._serverCertificate),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      token: {
        value: cdktn.stringToHclTerraform(this._token),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      token_file: {
        value: cdktn.stringToHclTerraform(this._tokenFile),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      trust_password: {
        value: cdktn.stringToHclTerraform(this._trustPassword),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      trust_token: {
        value: cdktn.stringToHclTerraform(this._trustToken),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      request_timeout: {
        value: cdktn.stringToHclTerraform(this._requestTimeout),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      project: {
        value: cdktn.stringToHclTerraform(this._project),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      target: {
        value: cdktn.stringToHclTerraform(this._target),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      remotes: {
        value: cdktn.hashMapperHcl(gantryProviderRemotesToHclTerraform)(this._remotes),
        isBlock: true,
        type: "map",
        storageClassType: "GantryProviderRemotesMap",
      },
      alias: {
        value: cdktn.stringToHclTerraform(this._alias),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
