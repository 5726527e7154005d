// gnark and gnark-crypto behind the lines of bench/peers/README.md.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

const (
	chains = 8
	rounds = 200000
)

var (
	g1Points []bls12381.G1Affine
	g2Points []bls12381.G2Affine
	scalars  []fr.Element
	domain   *fft.Domain
)

func coordinate(data []byte) fp.Element {
	value, err := fp.LittleEndian.Element((*[fp.Bytes]byte)(data))
	if err != nil {
		panic(err)
	}
	return value
}

func readPoints(group, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if group == "g1" {
		g1Points = make([]bls12381.G1Affine, len(data)/96)
		for i := range g1Points {
			at := data[96*i:]
			g1Points[i].X, g1Points[i].Y = coordinate(at), coordinate(at[48:])
		}
		return nil
	}
	g2Points = make([]bls12381.G2Affine, len(data)/192)
	for i := range g2Points {
		at := data[192*i:]
		g2Points[i].X.A0, g2Points[i].X.A1 = coordinate(at), coordinate(at[48:])
		g2Points[i].Y.A0, g2Points[i].Y.A1 = coordinate(at[96:]), coordinate(at[144:])
	}
	return nil
}

func readScalars(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	scalars = make([]fr.Element, len(data)/32)
	for i := range scalars {
		if scalars[i], err = fr.LittleEndian.Element((*[fr.Bytes]byte)(data[32*i:])); err != nil {
			return err
		}
	}
	return nil
}

func msm(group string, n, threads int) (string, error) {
	var encoded []byte
	var err error
	config := ecc.MultiExpConfig{NbTasks: threads}
	start := time.Now()
	var elapsed time.Duration
	if group == "g1" {
		var sum bls12381.G1Affine
		_, err = sum.MultiExp(g1Points[:n], scalars[:n], config)
		elapsed = time.Since(start)
		bytes := sum.Bytes()
		encoded = bytes[:]
	} else {
		var sum bls12381.G2Affine
		_, err = sum.MultiExp(g2Points[:n], scalars[:n], config)
		elapsed = time.Since(start)
		bytes := sum.Bytes()
		encoded = bytes[:]
	}
	return fmt.Sprintf("%.9g %s", elapsed.Seconds(), hex.EncodeToString(encoded)), err
}

// Natural to bit-reversed order; the twiddles are made before.
func ntt(logSize, threads int) string {
	size := uint64(1) << logSize
	if domain == nil || domain.Cardinality != size {
		domain = fft.NewDomain(size)
	}
	values := make([]fr.Element, size)
	for i := range values {
		values[i].SetUint64(uint64(i) + 1)
	}
	start := time.Now()
	domain.FFT(values, fft.DIF, fft.WithNbTasks(threads))
	return seconds(time.Since(start).Seconds())
}

func productFp() string {
	var values [chains]fp.Element
	var factor fp.Element
	factor.SetRandom()
	for i := range values {
		values[i].SetRandom()
	}
	start := time.Now()
	for range rounds {
		for i := range values {
			values[i].Mul(&values[i], &factor)
		}
	}
	return seconds(time.Since(start).Seconds() / (rounds * chains))
}

func productFr() string {
	var values [chains]fr.Element
	var factor fr.Element
	factor.SetRandom()
	for i := range values {
		values[i].SetRandom()
	}
	start := time.Now()
	for range rounds {
		for i := range values {
			values[i].Mul(&values[i], &factor)
		}
	}
	return seconds(time.Since(start).Seconds() / (rounds * chains))
}

func seconds(value float64) string { return fmt.Sprintf("%.9g", value) }

func answer(line string) (string, error) {
	var group string
	var n, threads int
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "points":
		group, path, _ := strings.Cut(rest, " ")
		return "ok", readPoints(group, path)
	case "scalars":
		return "ok", readScalars(rest)
	case "msm":
		if _, err := fmt.Sscan(rest, &group, &n, &threads); err != nil {
			return "", err
		}
		runtime.GOMAXPROCS(threads)
		return msm(group, n, threads)
	case "ntt":
		if _, err := fmt.Sscan(rest, &n, &threads); err != nil {
			return "", err
		}
		runtime.GOMAXPROCS(threads)
		return ntt(n, threads), nil
	case "prove":
		var shape string
		if _, err := fmt.Sscan(rest, &shape, &n, &threads); err != nil {
			return "", err
		}
		runtime.GOMAXPROCS(threads)
		return prove(shape, n)
	}
	switch line {
	case "product fp":
		return productFp(), nil
	case "product fr":
		return productFr(), nil
	}
	return "cannot", nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		reply, err := answer(lines.Text())
		if err != nil {
			reply = "error " + err.Error()
		}
		fmt.Println(reply)
	}
}
