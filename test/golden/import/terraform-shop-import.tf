# main.tf:11: the client certificate is taken from ~/.config/lxc; a snap keeps it in ~/snap/lxd/common/config
# main.tf:12: provider: generate_client_certificates is left out: make a client certificate: gantry trust join HOST, or openssl
# main.tf:54: project is left out: the object is in no project here
# main.tf:82: gantry_image.debian: only the server knows its id: write an import block for it in the root module, or run terraform import
# main.tf:155: lxd_instance.machine stays with its provider: type = "virtual-machine": gantry has only container
# modules/db/main.tf.json:6: gantry_container.db: a module has no import blocks: write an import block for it in the root module, or run terraform import

# ---- main.tf

terraform {
  required_providers {
    gantry = { source = "gantry/gantry" }
    lxd = {
      source  = "terraform-lxd/lxd"
      version = ">= 2.0"
    }
    random = { source = "hashicorp/random" }
  }
}

provider "gantry" {
  address                 = "https://10.1.1.8:8443"
  client_certificate_file = pathexpand("~/.config/lxc/client.crt")
  client_key_file         = pathexpand("~/.config/lxc/client.key")
  trust_token             = var.token
}

provider "lxd" {
  generate_client_certificates = true

  remote {
    name    = "main"
    address = "https://10.1.1.8:8443"
    token   = var.token
    default = true
  }

  remote {
    name     = "mine"
    address  = "https://images.example.org"
    protocol = "simplestreams"
  }
}

variable "token" {
  type      = string
  sensitive = true
}

variable "ports" {
  type    = map(number)
  default = { http = 80 }
}

variable "image" {
  default = "images:debian/12"
}

# The network of all.
resource "gantry_network" "lan" {
  name = "lan0"
  config = {
    "ipv4.address" = "10.44.0.1/24"
    "ipv6.address" = "none"
  }
}

resource "gantry_storage_pool" "fast" {
  name    = "fast"
  driver  = "dir"
}

resource "gantry_storage_volume" "data" {
  name = "data"
  pool = gantry_storage_pool.fast.name
}

resource "gantry_profile" "base" {
  name = "base"

  devices = {
    eth0 = {
      type = "nic"
      # the lan
      network = gantry_network.lan.name
    }
    root = { type = "disk", path = "/", pool = gantry_storage_pool.fast.name }
  }

}

resource "gantry_image" "debian" {
  source = {
    type     = "remote"
    server   = "https://images.lxd.canonical.com"
    protocol = "simplestreams"
    alias    = "debian/12"
  }
  copy_aliases = true
}

resource "gantry_image_alias" "debian" {
  for_each = toset(["base"])
  name     = each.key
  target   = gantry_image.debian.fingerprint
}

resource "gantry_container" "web" {
  count    = 2
  name     = "web${count.index}"
  source = { type = "image", fingerprint = gantry_image.debian.fingerprint }
  profiles = [gantry_profile.base.name]

  config = {
    "boot.autostart" = true # at once
    "limits.cpu" = 2
    "limits.memory" = "1GiB"
  }


  devices = merge({
    data = { type = "disk", path = "/srv", pool = gantry_storage_volume.data.pool, source = gantry_storage_volume.data.name }
  }, { for device_key, device_value in var.ports : device_key => {
        type = "proxy"
        listen  = "tcp:0.0.0.0:${device_value}"
        connect = "tcp:127.0.0.1:${device_value}"
      } })


  files = {
    "/etc/motd" = { content = "hello ${count.index}\n", mode = "0755" }
  }

  exec = {
    "00-hello" = {
      command       = ["true"]
      on            = "create"
      fail_on_error = false
    }
  }

  wait_for = [{ type = "ipv4" }]

  lifecycle {
    ignore_changes = [source, config, config["user.x"]]
  }
}

resource "gantry_container" "other" {
  name  = "other"
  source = {
    type     = "image"
    mode     = "pull"
    server   = "https://images.lxd.canonical.com"
    protocol = "simplestreams"
    alias    = trimprefix(var.image, "images:")
  }
  wait_for = [{ type = "ipv4", nic = "eth0" }]
  timeouts = { create = "10m" }
}

resource "lxd_instance" "machine" {
  name  = "vm"
  image = "images:debian/12"
  type  = "virtual-machine"
}

resource "gantry_network_acl" "acl" {
  name = "acl"
}

resource "gantry_container_file" "conf" {
  mode = "0755"
  container    = gantry_container.other.name
  source = "${path.module}/a.conf"
  path = "/etc/a.conf"
}

resource "gantry_snapshot" "before" {
  container = gantry_container.other.name
  name     = "before"
}

module "db" {
  source    = "./modules/db"
  providers = { gantry = gantry
    lxd = lxd }
  network   = gantry_network.lan.name
}

output "addresses" {
  value = [for box in gantry_container.web : box.ipv4_address]
}

output "all" {
  value = { addresses = gantry_container.web[*].ipv4_address, at = gantry_snapshot.before.created_at }
}

# ---- gantry-import.tf

import {
  to = gantry_network.lan
  id = "lan0"
}

import {
  to = gantry_storage_pool.fast
  id = "fast"
}

import {
  to = gantry_storage_volume.data
  id = "fast/data"
}

import {
  to = gantry_profile.base
  id = "base"
}

import {
  for_each = toset(["base"])
  to       = gantry_image_alias.debian[each.key]
  id       = each.key
}

import {
  for_each = { for index in range(2) : index => index }
  to = gantry_container.web[each.value]
  id = "web${each.value}"
}

import {
  to = gantry_container.other
  id = "other,image=https://images.lxd.canonical.com/${trimprefix(var.image, "images:")}"
}

import {
  to = gantry_network_acl.acl
  id = "acl"
}

import {
  to = gantry_container_file.conf
  id = "other//etc/a.conf"
}

import {
  to = gantry_snapshot.before
  id = "other/before"
}

# ---- modules/db/main.tf

terraform {
  required_providers {
    gantry = { source = "gantry/gantry" }
    lxd = {
      source = "terraform-lxd/lxd"
    }
  }
}

variable "network" {
  type = string
}

resource "gantry_container" "db" {
  name = "db"
  source = {
    type     = "image"
    mode     = "pull"
    server   = "https://cloud-images.ubuntu.com/releases"
    protocol = "simplestreams"
    alias    = "22.04"
  }
  config = {
    "user.text" = "a \"quoted\" ${upper("x")} one\n"
  }
  devices = {
    eth0 = {
      type = "nic"
      network = var.network
    }
  }
  depends_on = []
}

output "ip" {
  value = gantry_container.db.ipv4_address
}

