//! The keys that are made of large primes, from a given randomness.

use num_bigint::BigUint;
use solar_primes::{Progression, first_prime, first_primes};

use super::super::Context;
use super::{ahead, der};
use crate::template::Fault;

/// Of RSA keys; a prime.
const EXPONENT: u32 = 65_537;
/// Candidates after a random start. One in 355 odd numbers of 1024 bits is prime, one in 710
/// of 2048: a start without a prime in reach is drawn again.
const REACH: usize = 4_096;

/// A number of at most so many bits.
fn random<E>(bits: u64, fill: &mut impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<BigUint, E> {
    let mut bytes = vec![0; usize::try_from(bits.div_ceil(8)).unwrap_or(0)];
    fill(&mut bytes)?;
    if let Some(first) = bytes.first_mut() {
        *first >>= bits.next_multiple_of(8) - bits;
    }
    Ok(BigUint::from_bytes_be(&bytes))
}

/// The odd numbers from a random one of exactly that many bits on, the two highest set.
pub(super) fn random_start<E>(
    bits: u64,
    fill: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<Progression, E> {
    let mut start = random(bits, fill)?;
    for bit in [0, bits - 1, bits - 2] {
        start.set_bit(bit, true);
    }
    Ok(Progression {
        start,
        step: BigUint::from(2_u32),
        terms: REACH,
    })
}

/// Primes of exactly that many bits: each the first after a random start, in the starts' order.
fn random_primes<E>(
    count: usize,
    bits: u64,
    fill: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<Vec<BigUint>, E> {
    let mut primes = Vec::with_capacity(count);
    while primes.len() < count {
        let starts = (primes.len()..count).map(|_| random_start(bits, fill));
        let found = first_primes(&starts.collect::<Result<Vec<_>, E>>()?)
            .into_iter()
            .flatten();
        primes.extend(found.filter(|prime| prime.bits() == bits));
    }
    Ok(primes)
}

fn primes<const N: usize>(context: &mut Context, bits: u64) -> Result<[BigUint; N], Fault> {
    let primes = match (context.seed, bits) {
        (None, ahead::BITS) => context.primes.take(N)?,
        // A seed's primes come in the order in which they are asked for.
        _ => random_primes(N, bits, &mut |bytes| context.random_bytes(bytes))?,
    };
    primes
        .try_into()
        .map_err(|_| Fault::new("there were too few primes"))
}

/// An RSA key in PKCS #1's form.
pub(super) fn rsa(context: &mut Context, bits: u64) -> Result<Vec<u8>, Fault> {
    loop {
        let [mut p, mut q] = primes(context, bits / 2)?;
        if p < q {
            std::mem::swap(&mut p, &mut q);
        }
        let (below_p, below_q) = (&p - 1_u32, &q - 1_u32);
        let private = private_exponent(&(&below_p * &below_q));
        let (Some(private), Some(inverse)) = (private, q.modinv(&p)) else {
            continue;
        };
        let parts = [
            BigUint::from(0_u32),
            &p * &q,
            BigUint::from(EXPONENT),
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

/// The inverse of [`EXPONENT`] modulo this order; none where they share a factor.
///
/// It is `(order * k + 1) / EXPONENT` for the only k below `EXPONENT` with which that divides: small
/// numbers do what Euclid's algorithm would do with large ones.
pub(super) fn private_exponent(order: &BigUint) -> Option<BigUint> {
    let rest = order % EXPONENT;
    if rest == BigUint::ZERO {
        return None;
    }
    // Fermat: the inverse modulo a prime.
    let inverse = rest.modpow(&(EXPONENT - 2).into(), &EXPONENT.into());
    Some((order * (EXPONENT - inverse) + 1_u32) / EXPONENT)
}

/// A DSA key of 2048 and 256 bits: version, p, q, g, y, x.
pub(super) fn dsa(context: &mut Context) -> Result<Vec<u8>, Fault> {
    const P: u64 = 2_048;
    const Q: u64 = 256;
    let one = BigUint::from(1_u32);
    let [q] = primes(context, Q)?;
    let step = &q * 2_u32;
    let mut fill = |bytes: &mut [u8]| context.random_bytes(bytes);
    let p = loop {
        let mut start = random(P, &mut fill)?;
        start.set_bit(P - 1, true);
        // One more than a multiple of 2q.
        let rest = &start % &step;
        let start = start - rest + 1_u32;
        let progression = Progression {
            start,
            step: step.clone(),
            terms: REACH,
        };
        if let Some(prime) = first_prime(&progression).filter(|prime| prime.bits() == P) {
            break prime;
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
    let secret = random(Q + 64, &mut fill)? % (&q - 1_u32) + 1_u32;
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
