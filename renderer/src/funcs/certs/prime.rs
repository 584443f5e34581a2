//! Large primes from a given randomness, and the keys made of them.
//!
//! Used where the library that makes keys can't: for DSA, and for RSA keys that have to be
//! the same in every run. Such RSA keys come from a known seed and protect nothing.

use num_bigint::BigUint;

use super::super::Context;
use super::der;
use crate::template::Fault;

/// As many rounds of Miller and Rabin's test as Go does.
const ROUNDS: usize = 20;
/// Candidates are divided by all primes below this first.
const SMALL: u32 = 4_000;
const EXPONENT: u32 = 65_537;

fn random(context: &mut Context, bits: u64) -> Result<BigUint, Fault> {
    let mut bytes = vec![0; usize::try_from(bits.div_ceil(8)).unwrap_or(0)];
    context.random_bytes(&mut bytes)?;
    if let Some(first) = bytes.first_mut() {
        *first >>= bits.next_multiple_of(8) - bits;
    }
    Ok(BigUint::from_bytes_be(&bytes))
}

/// At least 2 and at most the limit less 2.
fn random_base(context: &mut Context, limit: &BigUint) -> Result<BigUint, Fault> {
    let range = limit - 3_u32;
    Ok(random(context, limit.bits() + 64)? % range + 2_u32)
}

fn small_primes() -> Vec<u32> {
    let mut primes: Vec<u32> = Vec::new();
    for candidate in (3..SMALL).step_by(2) {
        if primes
            .iter()
            .take_while(|prime| *prime * *prime <= candidate)
            .all(|prime| candidate % prime != 0)
        {
            primes.push(candidate);
        }
    }
    primes
}

/// For odd numbers above [`SMALL`].
fn is_prime(context: &mut Context, number: &BigUint, small: &[u32]) -> Result<bool, Fault> {
    let zero = BigUint::from(0_u32);
    if small.iter().any(|prime| number % *prime == zero) {
        return Ok(false);
    }
    let one = BigUint::from(1_u32);
    let below = number - 1_u32;
    let twos = below.trailing_zeros().unwrap_or(0);
    let odd = &below >> twos;
    'rounds: for _ in 0..ROUNDS {
        let base = random_base(context, number)?;
        let mut power = base.modpow(&odd, number);
        if power == one || power == below {
            continue;
        }
        for _ in 1..twos {
            power = &power * &power % number;
            if power == below {
                continue 'rounds;
            }
        }
        return Ok(false);
    }
    Ok(true)
}

/// A prime of exactly that many bits, the two highest set.
fn prime(context: &mut Context, bits: u64, small: &[u32]) -> Result<BigUint, Fault> {
    loop {
        let mut candidate = random(context, bits)?;
        for bit in [0, bits - 1, bits - 2] {
            candidate.set_bit(bit, true);
        }
        if is_prime(context, &candidate, small)? {
            return Ok(candidate);
        }
    }
}

/// An RSA key in PKCS #1's form.
pub(super) fn rsa(context: &mut Context, bits: u64) -> Result<Vec<u8>, Fault> {
    let small = small_primes();
    let exponent = BigUint::from(EXPONENT);
    loop {
        let (mut p, mut q) = (
            prime(context, bits / 2, &small)?,
            prime(context, bits / 2, &small)?,
        );
        if p < q {
            std::mem::swap(&mut p, &mut q);
        }
        let (below_p, below_q) = (&p - 1_u32, &q - 1_u32);
        let private = exponent.modinv(&(&below_p * &below_q));
        let (Some(private), Some(inverse)) = (private, q.modinv(&p)) else {
            continue;
        };
        let parts = [
            BigUint::from(0_u32),
            &p * &q,
            exponent,
            private.clone(),
            p,
            q,
            &private % below_p,
            private % below_q,
            inverse,
        ];
        return Ok(integers(&parts));
    }
}

/// A DSA key of 2048 and 256 bits: version, p, q, g, y, x.
pub(super) fn dsa(context: &mut Context) -> Result<Vec<u8>, Fault> {
    const P: u64 = 2_048;
    const Q: u64 = 256;
    let small = small_primes();
    let one = BigUint::from(1_u32);
    let q = prime(context, Q, &small)?;
    let p = loop {
        let mut candidate = random(context, P)?;
        candidate.set_bit(P - 1, true);
        // One more than a multiple of 2q.
        let rest = &candidate % (&q * 2_u32);
        let candidate = candidate - rest + 1_u32;
        if candidate.bits() == P && is_prime(context, &candidate, &small)? {
            break candidate;
        }
    };
    let cofactor = (&p - 1_u32) / &q;
    let mut base = BigUint::from(2_u32);
    let generator = loop {
        let generator = base.modpow(&cofactor, &p);
        if generator != one {
            break generator;
        }
        base += 1_u32;
    };
    let secret = random(context, Q + 64)? % (&q - 1_u32) + 1_u32;
    let public = generator.modpow(&secret, &p);
    Ok(integers(&[BigUint::from(0_u32), p, q, generator, public, secret]))
}

fn integers(numbers: &[BigUint]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = numbers
        .iter()
        .map(|number| der::integer(&number.to_bytes_be()))
        .collect();
    der::value(der::SEQUENCE, &parts.concat())
}

/// An ECDSA signature with a given nonce, whose point's first coordinate is at hand; `None`
/// when it does not fit.
pub(super) fn ecdsa(order: &[u8], secret: &[u8], nonce: &[u8], x: &[u8], hash: &[u8]) -> Option<Vec<u8>> {
    let order = BigUint::from_bytes_be(order);
    let zero = BigUint::from(0_u32);
    let nonce = BigUint::from_bytes_be(nonce);
    let r = BigUint::from_bytes_be(x) % &order;
    // The hash's leftmost bits, as many as the order has.
    let hash_bits = hash.len() as u64 * 8;
    let hash = BigUint::from_bytes_be(hash) >> hash_bits.saturating_sub(order.bits());
    let inverse = nonce.modinv(&order)?;
    let s = inverse * (hash + &r * BigUint::from_bytes_be(secret)) % &order;
    if r == zero || s == zero {
        return None;
    }
    Some(integers(&[r, s]))
}
