"""From a mechanism to a guarantee: resolve, amplify, compare, certify."""
